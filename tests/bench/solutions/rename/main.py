import shapes
from report import describe

if __name__ == "__main__":
    print(describe([(2, 3), (4, 5)]))
    print("one more:", shapes.area(1, 9))
