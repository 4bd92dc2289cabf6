work=$(mktemp -d)
mkdir "$work/a b" "$work/plain"
for name in "x  y.log" "-n.log" "star*.log"; do echo 1 >"$work/a b/$name"; done
echo 1 >"$work/a b/log"
echo 1 >"$work/plain/one.log"
first=$(sh archive.sh "$work/a b")
second=$(sh archive.sh "$work/a b" 2>/dev/null)
third=$(sh archive.sh "$work/plain")
old=$(ls -1 "$work/a b/old" | wc -l)
left=$(ls -1 "$work/a b" | wc -l)
plain=$(ls -1 "$work/plain/old")
rm -rf "$work"
[ "$first" = "3 moved" ] && [ "$second" = "0 moved" ] && [ "$third" = "1 moved" ] &&
  [ "$old" -eq 3 ] && [ "$left" -eq 2 ] && [ "$plain" = "one.log" ] && echo "$1"
