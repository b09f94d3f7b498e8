. ./sum.sh
got=$(sum 1 2 3)
if [ "$got" = 6 ]; then
    echo "ok: sum 1 2 3 is 6"
else
    echo "FAILED: sum 1 2 3 is $got, not 6"
    exit 1
fi
