#!/bin/sh
# Moves every .log file of a folder into its subfolder "old" and says how many there were.
# usage: archive.sh FOLDER
folder=$1
mkdir -p $folder/old
count=0
for file in $(ls $folder/*.log); do
  mv $file $folder/old/
  count=$((count + 1))
done
echo "$count moved"
