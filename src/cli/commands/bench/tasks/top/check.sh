printf 'b a\nc a\na b\n' >one.txt
printf 'x x x y\ny z\n' >"two words.txt"
: >empty.txt
[ "$(sh top.sh words.txt)" = "red 3" ] && [ "$(sh top.sh one.txt)" = "a 3" ] &&
  [ "$(sh top.sh "two words.txt")" = "x 3" ] && [ -z "$(sh top.sh empty.txt)" ] && echo "$1"
