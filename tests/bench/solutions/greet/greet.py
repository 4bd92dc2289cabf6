print("Hello, bench!")
