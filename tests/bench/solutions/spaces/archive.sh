#!/bin/sh
folder=$1
mkdir -p "$folder/old"
count=0
for file in "$folder"/*.log; do
  [ -e "$file" ] || continue
  mv "$file" "$folder/old/"
  count=$((count + 1))
done
echo "$count moved"
