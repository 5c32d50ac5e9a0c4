# What a guest's shell runs for guest.go. It reads lines,
#
#     run ID SECONDS BASE64     a line for bash, to be ended after SECONDS
#     kill ID SIGNAL            to it and all that it started
#
# and writes "end ID CODE :BASE64 :BASE64" for each run that ended: its output and its errors.
cd "$(mktemp -d)" || exit
while read -r word id rest; do
    read -r first second <<<"$rest"
    case $word in
    run)
        {
            # timeout makes a process group of itself and what it runs.
            timeout -k 1 "$first" bash -c "$(base64 -d <<<"$second")" </dev/null >"$id.out" 2>"$id.err" &
            echo $! >"$id.pid"
            wait $!
            code=$?
            rm "$id.pid"
            {
                flock 9
                echo "end $id $code :$(base64 -w 0 "$id.out") :$(base64 -w 0 "$id.err")"
            } 9>lock
            rm "$id.out" "$id.err"
        } &
        ;;
    kill) kill "-$first" -- "-$(cat "$id.pid")" ;;
    esac 2>/dev/null
done
for pid in *.pid; do
    kill -KILL -- "-$(cat "$pid")"
done 2>/dev/null
