#!/bin/sh
# Run with: sh test.sh
work=$(mktemp -d)
mkdir "$work/my logs"
echo 1 >"$work/my logs/monday.log"
echo 2 >"$work/my logs/last friday.log"
echo 3 >"$work/my logs/notes.txt"
said=$(sh archive.sh "$work/my logs")
found=$(cd "$work/my logs" && ls -1 . old)
rm -rf "$work"
if [ "$said" = "2 moved" ] && [ "$found" = ".:
notes.txt
old

old:
last friday.log
monday.log" ]; then
  echo "test passed"
else
  echo "test FAILED: it said: $said; then there was: $found"
  exit 1
fi
