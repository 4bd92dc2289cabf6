tr -s ' \t' '\n\n' <"$1" | sort | uniq -c | sort -rn | head -n 1 | while read -r count word; do
  echo "$word $count"
done
