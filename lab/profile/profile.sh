#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Instructions a frame of an experiment of the lab, by function or by kind.
#
#     lab/profile/profile.sh CANGATE FUNCTION NTH HOW LAB-MEASURE-OPTIONS...
#
# CANGATE is a release build, which has its symbols. FUNCTION is one of the guest's kernel that each frame
# comes to once; its NTH execution ends the trace. HOW is --kinds, --way or --top=N (profile.py). Needs gcc,
# nm and python3, and a lab that is set up. The lab beside it ($CANGATE_LAB-profile) has a QEMU that is
# started with the plugin; a guest in virtual time does not notice it: the figures are the same.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cangate=$1 function=$2 nth=$3 how=$4
shift 4
lab=${CANGATE_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/cangate/lab}
mine=$lab-profile
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
# The kernel under test is the one of the options.
kernel=
previous=
for option in "$@"; do
    [ "$previous" != --kernel ] || kernel=$option
    previous=$option
done
"$cangate" lab exec --bench timed ${kernel:+--kernel "$kernel"} -- cat /proc/kallsyms >"$mine/kallsyms"
# A module's function goes before the kernel's of the same name.
at=$(awk -v name="$function" '$3 == name { at = $1; if ($4 != "") exit } END { print at }' "$mine/kallsyms")
[ -n "$at" ] || { echo "$function: the guest's kernel has no such function" >&2; exit 1; }
rm -f "$mine/trace"
echo "$mine/trace.so,at=$at,nth=$nth,keep=23,out=$mine/trace" >"$mine/plugin"
# Without a second guest with an ideal gateway, which would write the same file.
"$cangate" lab measure --bench timed --no-floor "$@"
: >"$mine/plugin"
[ -s "$mine/trace" ] || { echo "$function was executed fewer than $nth times" >&2; exit 1; }
python3 "$here/profile.py" "$cangate" "$mine/kallsyms" "$mine/trace" "$at" "$how"
