# A Stop hook: the turn is not over while the tests of the folder fail. It lets the model go on once
# only, so that it can also say that it cannot mend them.
grep -q '"stop_hook_active":true' && exit 0
[ -x ./test.sh ] || exit 0
if ! out=$(./test.sh 2>&1); then
    echo "./test.sh fails:" >&2
    echo "$out" | tail -20 >&2
    exit 2
fi
