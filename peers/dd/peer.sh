#!/bin/sh
# A peer of ioassay that reads and writes with `dd` of the GNU coreutils, a common quick disk test.
# ../README.md describes the protocol, and ../peers.toml lists what this peer supports.
#
# It writes zeros from /dev/zero and reads into /dev/null, sequentially and with one thread. Zeros
# are the only data that dd can produce at almost no cost; reading them is included in the time. The
# time is the one that dd reports: from opened files until everything is written and, if requested,
# synced. So
#
# - the time excludes the start of dd and this shell;
# - dd does not separate the writes from the final sync: with conv=fdatasync and conv=fsync, the
#   span ends with the sync, so the acknowledged rate is too low;
# - dd does not report what it read: there is no digest;
# - dd does not time single operations: there are no latencies;
# - `time` is ignored: dd ends when the file is full, or was read once.

set -f -u
LC_ALL=C
export LC_ALL

# dd's stderr goes to an unnamed file. A second descriptor reads it from the end of the last report.
said=$(mktemp) || exit 1
exec 3>"$said"
exec 4<"$said"
rm -f "$said"

# Prints a verb with an escaped reason.
refuse() {
    reason=$(printf %s "$2" | tr -c '[:print:]' '?' | sed 's/%/%25/g; s/ /%20/g; s/=/%3D/g')
    printf '%s reason=%s\n' "$1" "$reason"
}

# Sets `decoded` to the unescaped value.
decode() {
    rest=$1
    decoded=
    while :; do
        case $rest in
        *%??*) ;;
        *) break ;;
        esac
        decoded=$decoded${rest%%\%*}
        rest=${rest#*%}
        digits=${rest%"${rest#??}"}
        rest=${rest#??}
        # Without the letter after it, the shell would drop a final newline.
        byte=$(printf '%bx' "\\0$(printf %03o "0x$digits")")
        decoded=$decoded${byte%x}
    done
    decoded=$decoded$rest
}

# Sets `number` to a size in bytes.
bytes() {
    case $1 in
    *TiB) number=${1%TiB} shift=40 ;;
    *GiB) number=${1%GiB} shift=30 ;;
    *MiB) number=${1%MiB} shift=20 ;;
    *KiB) number=${1%KiB} shift=10 ;;
    *) number=${1%B} shift=0 ;;
    esac
    case $number in
    '' | *[!0-9]*) return 1 ;;
    esac
    number=$((number << shift))
}

# Whether a key has one of the values that dd supports. If not, sets `refusal`.
demand() {
    key=$1
    value=$2
    shift 2
    for known; do
        if [ "$value" = "$known" ]; then return 0; fi
    done
    refusal="dd has $key $* only, not '$value'"
    return 1
}

# Reads the job in `line` and prints whether this peer is ready for it.
prepare() {
    op='' engine='' cache='' pattern='' size='' block='' depth='' threads='' share='' sync=''
    every='' allocation='' fill='' ops='' file='' touch='' advice=''
    for pair in $line; do
        value=${pair#*=}
        case ${pair%%=*} in
        op) op=$value ;;
        engine) engine=$value ;;
        cache) cache=$value ;;
        pattern) pattern=$value ;;
        size) size=$value ;;
        block) block=$value ;;
        depth) depth=$value ;;
        threads) threads=$value ;;
        share) share=$value ;;
        sync) sync=$value ;;
        every) every=$value ;;
        allocation) allocation=$value ;;
        fill) fill=$value ;;
        ops) ops=$value ;;
        touch) touch=$value ;;
        advice) advice=$value ;;
        file) file=$value ;;
        esac
    done
    if ! {
        demand pattern "$pattern" sequential &&
            demand depth "$depth" 1 &&
            demand threads "$threads" 1 &&
            demand share "$share" contiguous &&
            demand ops "$ops" 0 &&
            if [ -z "$op" ]; then
                demand engine "$engine" read &&
                    demand touch "$touch" none &&
                    demand advice "$advice" none
            else
                demand op "$op" write &&
                    demand engine "$engine" write &&
                    demand cache "$cache" as-is direct &&
                    demand sync "$sync" none fdatasync fsync dsync &&
                    demand every "$every" 0 &&
                    demand allocation "$allocation" none fallocate overwrite &&
                    demand fill "$fill" zero
            fi
    }; then
        refuse unavailable "$refusal"
        return 1
    fi
    sizes="size '$size' and block '$block'"
    if ! { bytes "$size" && size=$number && bytes "$block" && block=$number && [ "$block" -gt 0 ]; }
    then
        refuse failed "the job has $sizes: dd cannot write that"
        return 1
    fi
    decode "$file"
    file=$decoded
    if [ -z "$op" ]; then
        if [ ! -r "$file" ]; then
            refuse failed "the job's file '$file' cannot be read"
            return 1
        fi
    elif [ ! -f "$file" ] || [ ! -w "$file" ]; then
        refuse failed "the job's file '$file' cannot be written"
        return 1
    fi
    echo ready
}

# Runs dd and prints the outcome.
perform() {
    # The file exists and keeps its blocks.
    conv=notrunc,nocreat
    iflag=count_bytes,fullblock
    oflag=
    case $sync in
    fdatasync | fsync) conv=$conv,$sync ;;
    dsync) oflag=dsync ;;
    esac
    if [ -z "$op" ]; then
        from=$file to=/dev/null
        if [ "$cache" = direct ]; then iflag=$iflag,direct; fi
    else
        from=/dev/zero to=$file
        if [ "$cache" = direct ]; then oflag=${oflag:+$oflag,}direct; fi
    fi
    # Killing this script kills dd too. When dd is not running, the signal has its default effect.
    dd=
    trap 'kill $dd; exit 143' TERM
    dd if="$from" of="$to" bs="$block" count="$size" iflag="$iflag" \
        ${oflag:+oflag="$oflag"} conv="$conv" >&3 2>&3 4<&- &
    dd=$!
    wait "$dd"
    status=$?
    trap - TERM
    all=
    last=
    while read -r report <&4; do
        all=${all:+$all; }$report
        last=$report
    done
    if [ "$status" -ne 0 ]; then
        refuse failed "dd ended with status $status: $all"
        return
    fi
    # The last line: `67108864 bytes (67 MB, 64 MiB) copied, 0.0271304 s, 2.5 GB/s`. Short times
    # have an exponent: `6.6333e-05 s`.
    seconds=${last##*copied, }
    seconds=${seconds%% s*}
    took=$(awk -v seconds="$seconds" 'BEGIN { printf "%.0f", seconds * 1e9 }')
    case ${last%% *}:$took in
    "$size":0 | "$size":*[!0-9]* | "$size":)
        refuse failed "dd reported no time: $all"
        return
        ;;
    "$size":*) ;;
    *)
        refuse failed "dd moved another number of bytes than $size: $all"
        return
        ;;
    esac
    told=
    if [ -n "$op" ]; then told=' digest=0'; fi
    if [ -n "$op" ] && [ "$sync" != none ]; then told="$told synced_ns=$((1 + took))"; fi
    ops=$(((size + block - 1) / block))
    # Times count from the start of dd's clock: only their differences matter.
    echo "span thread=0 start_ns=1 end_ns=$((1 + took)) bytes=$size ops=$ops$told"
    echo "done setup_ns=0 max_ns=0"
}

echo "hello protocol=2 name=dd version=1"
is_ready=no
while read -r line; do
    case $line in
    job\ *) if prepare; then is_ready=yes; else is_ready=no; fi ;;
    go)
        # After an outcome, `go` releases the job, which holds nothing here.
        if [ $is_ready = yes ]; then perform; fi
        is_ready=no
        ;;
    *) is_ready=no ;;
    esac
done
