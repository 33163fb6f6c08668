#!/bin/sh
# A peer that reads nothing and replies as its first argument says, for tests of ioassay.
# ../README.md describes the protocol.
#
#   honest-shape   valid replies; supports only touch 'none' and 'page', and one thread
#   wrong-digest   a digest that does not match the file
#   short          one block fewer than the reported operations
#   impossible     everything in 1 ns
#   dies           after `go`, with status 3 and a message
#   hangs          after `go`, for an hour
#   babbles        after `go`, endlessly

lie=${1:-honest-shape}

# The value of a key in the job. The values used here contain no escapes.
value() {
    for pair in $job; do
        case $pair in "$1="*) echo "${pair#*=}" ;; esac
    done
}

# A size in bytes.
bytes() {
    case $1 in
    *TiB) echo $((${1%TiB} << 40)) ;;
    *GiB) echo $((${1%GiB} << 30)) ;;
    *MiB) echo $((${1%MiB} << 20)) ;;
    *KiB) echo $((${1%KiB} << 10)) ;;
    *) echo "${1%B}" ;;
    esac
}

# One pass over the file by one thread, in 20 ms of the 50 that it waits.
perform() {
    size=$(bytes "$(value size)")
    block=$(bytes "$(value block)")
    ops=$(((size + block - 1) / block))
    moved=$size
    digest=0
    took=20000000
    case $lie in
    wrong-digest) digest=1 ;;
    short) moved=$((size - block)) ;;
    impossible) took=1 ;;
    dies) echo 'I have met my end' >&2; exit 3 ;;
    hangs) exec sleep 3600 ;;
    babbles) while echo 'la la la'; do :; done; exit ;;
    esac
    sleep 0.05
    each=$(((took + ops - 1) / ops))
    echo "span thread=0 start_ns=1000 end_ns=$((1000 + took)) bytes=$moved ops=$ops digest=$digest"
    echo "latency ns=$each count=$ops"
    echo "done setup_ns=1000 max_ns=$each"
}

echo "hello protocol=2 name=fake version=1"
while read -r job; do
    case $job in
    job\ *) ;;
    *) continue ;;
    esac
    touch=$(value touch)
    if [ -z "$touch" ] || [ "$(value threads)" != 1 ]; then
        echo "unavailable reason=this%20peer%20has%20files%20and%20one%20thread%20only"
    elif [ "$lie" = honest-shape ] && [ "$touch" != none ] && [ "$touch" != page ]; then
        echo "unavailable reason=this%20peer%20reads%20nothing%20that%20could%20be%20summed"
    else
        echo ready
        read -r line || exit 0
        if [ "$line" = go ]; then perform; fi
    fi
done
