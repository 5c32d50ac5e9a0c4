# The shell script that guest.go runs in a guest. It reads lines,
#
# run ID SECONDS BASE64     a line for bash, ended after SECONDS
# kill ID SIGNAL            signals it and all its children
#
# and writes "end ID CODE :BASE64 :BASE64" for each run that ended, with its output and its errors.
cd "$(mktemp -d)" || exit
while read -r word id rest; do
    read -r first second <<<"$rest"
    case $word in
    run)
        {
            # timeout creates a process group for itself and its child.
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
