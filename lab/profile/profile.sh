#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Instructions a frame of an experiment of the lab, by function or by kind.
#
#     lab/profile/profile.sh CANGATE FUNCTION NTH HOW LAB-MEASURE-OPTIONS...
#
# CANGATE is a release build, which has its symbols. FUNCTION is one of the guest's kernel that each frame
# comes to once; its NTH execution ends the trace. HOW is --kinds, --way or --top=N (profile.py), or --who, --steps
# or --worst (who.py). The bench is timed, if the options do not say --bench vm. $KEEP is how many instructions are kept, as
# a power of two. Needs gcc, nm and python3, and a lab that is set up. The lab beside it ($CANGATE_LAB-profile) has a QEMU that is
# started with the plugin; a guest in virtual time does not notice it: the figures are the same.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cangate=$1 function=$2 nth=$3 how=$4
shift 4
lab=${CANGATE_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/cangate/lab}
mine=$lab-profile
# The kernel under test and the bench are those of the options.
kernel=
bench=
previous=
for option in "$@"; do
    case $previous in
    --kernel) kernel=$option ;;
    --bench) bench=$option ;;
    esac
    previous=$option
done
[ -n "$bench" ] || set -- --bench timed "$@"
# What the experiment needs is fetched and put together in the lab itself, of the true loader.
CANGATE_LAB=$lab "$cangate" lab measure --no-floor "$@" >/dev/null
mkdir -p "$mine/snapshots" "$mine/runs" "$mine/locks"
for part in "$lab"/*; do
    name=$(basename "$part")
    case $name in
    snapshots | runs | locks) ;;
    qemu-*) [ -e "$mine/$name" ] || cp -a "$part" "$mine/" ;;
    *) ln -sfn "$part" "$mine/$name" ;;
    esac
done
gcc -O2 -shared -fPIC -o "$mine/trace.so" "$here/trace.c"
# The lab starts its programs through their own loader: ours adds the plugin to a saved guest that goes on.
for loader in "$mine"/qemu-*/usr/lib/*/ld-linux-x86-64.so.2; do
    [ -e "$loader.real" ] || mv "$loader" "$loader.real"
    cat >"$loader" <<END
#!/bin/sh
case " \$* " in
*" -incoming "*) [ ! -s "$mine/plugin" ] || set -- "\$@" -plugin "\$(cat "$mine/plugin")" ;;
esac
exec "$loader.real" "\$@"
END
    chmod +x "$loader"
done
: >"$mine/plugin"
export CANGATE_LAB="$mine"
ask() {
    "$cangate" lab exec --bench "${bench:-timed}" ${kernel:+--kernel "$kernel"} -- "$@"
}
# A machine in the guest has a kernel of its own; it is the same each time.
if [ "$bench" = vm ] && ! [ "$mine/within.kallsyms" -nt "$cangate" ]; then
    CANGATE_LAB=$lab ask cangate lab inner -- cat /proc/kallsyms >"$mine/within.new"
    mv "$mine/within.new" "$mine/within.kallsyms"
fi
ask cat /proc/kallsyms >"$mine/kallsyms"
# A module's function goes before the kernel's of the same name.
find_in() {
    awk -v name="$2" '$3 == name { at = $1; if ($4 != "") exit } END { print at }' "$1"
}
at=$(find_in "$mine/kallsyms" "$function")
[ -n "$at" ] || { echo "$function: the guest's kernel has no such function" >&2; exit 1; }
within=/dev/null threads=
case $how in
--who* | --steps* | --worst*)
    threads=,switch=$(find_in "$mine/kallsyms" __switch_to),init=$(find_in "$mine/kallsyms" init_task)
    if [ "$bench" = vm ]; then
        within=$mine/within.kallsyms
        threads=$threads,within=$(find_in "$within" __switch_to),first=$(find_in "$within" init_task)
    fi
    ;;
esac
# Without the plugin, the guest that the experiment starts from is prepared in much less time; and what happens then is not counted.
"$cangate" lab measure --no-floor "$@" >/dev/null
rm -f "$mine/trace"
echo "$mine/trace.so,at=$at,nth=$nth,keep=${KEEP:-23},out=$mine/trace$threads" >"$mine/plugin"
# Without a second guest with an ideal gateway, which would write the same file.
"$cangate" lab measure --no-floor "$@"
: >"$mine/plugin"
[ -s "$mine/trace" ] || { echo "$function was executed fewer than $nth times" >&2; exit 1; }
case $how in
--who* | --steps* | --worst*) python3 "$here/who.py" "$cangate" "$mine/kallsyms" "$within" "$mine/trace" "$at" "$how" ;;
*) python3 "$here/profile.py" "$cangate" "$mine/kallsyms" "$mine/trace" "$at" "$how" ;;
esac
