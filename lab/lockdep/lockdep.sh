#!/bin/sh
# Holds the kernel modules against sparse (where it is installed), lockdep, KASAN and the checks of sleeping in
# atomic context: builds Debian's Linux 6.1 with lockdep.config once, boots it in QEMU with two processors, and runs
# the tests of lab/cangate-lab/tests/lab/chardev.sh there, on the timed bench. Emulated Kvaser cards take so long in
# this kernel that their part did not end in ten minutes; it is left out.
#
#   lab/lockdep/lockdep.sh [FOLDER]
#
# The kernel stays in FOLDER (~/.cache/cangate/lockdep). Building it takes 20 minutes of one processor and 1.5 GB.
# Needed: linux-source-6.1 gcc make flex bison bc libelf-dev (apt-get install them), and a lab that is set up
# (`cangate lab setup`): its QEMU and its busybox are used.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
main=${here%/lab/lockdep}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cangate
folder=${1:-$cache/lockdep}
lab=${CANGATE_LAB:-$cache/lab}
source=/usr/src/linux-source-6.1.tar.xz

fail() { echo "error: $*" >&2; exit 1; }
for tool in gcc make flex bison bc; do
    command -v $tool >/dev/null || fail "there is no $tool: apt-get install $tool"
done
[ -f $source ] || fail "there is no $source: apt-get install linux-source-6.1"
qemu=$lab/qemu-11.1
busybox=$lab/guest-3/bin/busybox
for file in "$qemu/usr/bin/qemu-system-x86_64" "$busybox"; do
    [ -f "$file" ] || fail "there is no $file: cangate lab setup"
done

mkdir -p "$folder"
cd "$folder"
kernel=$folder/linux-source-6.1
if ! cmp -s "$here/lockdep.config" built; then
    rm -rf "$kernel" built
    tar xf $source
    make -s -C "$kernel" tinyconfig
    "$kernel/scripts/kconfig/merge_config.sh" -m -O "$kernel" "$kernel/.config" "$here/lockdep.config" >merge.log
    make -s -C "$kernel" olddefconfig
    # What does not depend on anything else must be as it was asked for.
    for wish in PROVE_LOCKING KASAN_GENERIC KASAN_VMALLOC DEBUG_ATOMIC_SLEEP DEBUG_OBJECTS_WORK; do
        grep -q "^CONFIG_$wish=y" "$kernel/.config" || fail "the kernel's configuration has no $wish"
    done
    echo "building the kernel, which is done once; $folder/build.log"
    nice make -C "$kernel" -j"${JOBS:-1}" bzImage modules >build.log 2>&1 || fail "see $folder/build.log"
    cp "$here/lockdep.config" built
fi

rm -rf work
mkdir -p work/root/bin work/root/lab work/root/tmp work/root/proc work/root/sys work/root/dev
cp -r "$main/kmod/bitcan" "$main/kmod/canchar" work/
if command -v sparse >/dev/null; then sparse="C=2"; else sparse=; echo "without sparse: apt-get install sparse"; fi
for module in bitcan canchar; do
    make -s -C "$kernel" M="$folder/work/$module" CONFIG_DEBUG_INFO_BTF_MODULES= $sparse modules 2>work/said ||
        { cat work/said >&2; fail "$module does not compile"; }
    cat work/said >&2
    grep -q 'warning:\|error:' work/said && fail "the compiler or sparse complains about $module"
    cp work/$module/$module.ko work/root/lab/
done
for module in net/can/can.ko net/can/can-raw.ko drivers/net/can/dev/can-dev.ko; do
    cp "$kernel/$module" work/root/lab/
done
for test in test flood; do
    gcc -O2 -static -pthread -o work/root/lab/canchar-$test work/canchar/test/canchar-$test.c
done
cp "$main/lab/cangate-lab/tests/lab/chardev.sh" work/root/lab/
cp "$busybox" work/root/bin/
cat >work/root/init <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin BITRATE=125000
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
cd /lab
insmod can-dev.ko
insmod bitcan.ko
for name in gw0 gw1; do echo add $name bus=0 >/dev/bitcan; done
sh /lab/chardev.sh timed 2>&1
# The locks' graph is full: lockdep has ended, and would not have seen the rest.
grep -q '^ *debug_locks: *1' /proc/lockdep_stats && echo "lockdep was on to the end"
echo "=== end"
poweroff -f
END
chmod +x work/root/init
(
    echo "dir /dev 755 0 0"
    echo "nod /dev/console 600 0 0 c 5 1"
    cd work/root
    find . -mindepth 1 -type d ! -name dev | while read -r path; do echo "dir ${path#.} 755 0 0"; done
    find . -type f | while read -r path; do echo "file ${path#.} $folder/work/root/${path#./} 755 0 0"; done
) >work/list
"$kernel/usr/gen_init_cpio" work/list | gzip -1 >work/initrd.gz

# The tree's own loader and libraries. Virtual time, as in the lab: a slow host loses no frames. Two processors take
# turns.
library=$qemu/usr/lib/x86_64-linux-gnu
[ -e "$library/ld-linux-x86-64.so.2" ] || library=$qemu/lib/x86_64-linux-gnu
"$library/ld-linux-x86-64.so.2" --library-path "$qemu/usr/lib/x86_64-linux-gnu:$qemu/lib/x86_64-linux-gnu" \
    "$qemu/usr/bin/qemu-system-x86_64" -nodefaults -no-user-config -display none -no-reboot -nic none -m 1024 \
    -L "$qemu/usr/share/qemu" -L "$qemu/usr/share/seabios" -L "$qemu/usr/lib/ipxe/qemu" \
    -accel tcg -smp 2 -icount shift=0,sleep=off \
    -kernel "$kernel/arch/x86/boot/bzImage" -initrd work/initrd.gz -append "console=ttyS0 panic=-1" -serial stdio \
    </dev/null | tr -d '\r' | tee console.log

# Every part must have come to its end, and nobody may have complained.
wrong=0
for words in "=== end" "lockdep was on to the end"; do
    grep -q "$words" console.log || { echo "error: the guest did not say \"$words\"" >&2; wrong=1; }
done
grep '^status ' console.log | grep -qv '^status 0$' && { echo "error: a test failed" >&2; wrong=1; }
[ "$(grep -c '^status 0$' console.log)" = 6 ] || { echo "error: not all tests ran" >&2; wrong=1; }
grep -q 'BUG:\|WARNING:\|Oops\|KASAN:\|possible recursive\|inconsistent lock' console.log &&
    { echo "error: the kernel complained: see $folder/console.log" >&2; wrong=1; }
exit $wrong
