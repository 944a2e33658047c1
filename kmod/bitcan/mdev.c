// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of a controller that shares itself as mediated PCI devices (module bitcan_mdev): configuration space, MSI,
 * the registers, and the message memory, which the machine has mapped. docs/vcontroller.md says what a
 * machine sees.
 *
 *   echo UUID > /sys/class/bitcan-pf/NAME/mdev_supported_types/bitcan-pf-function/create
 *   cat /sys/bus/mdev/devices/UUID/function       # which one: NAME/N
 */
#include <linux/eventfd.h>
#include <linux/mdev.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci_regs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vfio.h>
#include <linux/vmalloc.h>

#include "functions.h"

#define CONFIG_SIZE 256
#define MSI_AT 0x50
#define INDEX_SHIFT 40			/* a region's number in an offset of the device's file */

/* A controller of which functions are presented. */
struct presented {
	struct bitcan_shared *s;
	struct device *device;
	struct mdev_type type, *types[1];
	struct mdev_parent parent;
};

/* A function as a PCI device. */
struct vf {
	struct vfio_device vdev;
	struct bitcan_shared *s;
	int n;
	struct mutex mutex;		/* all of the following */
	u8 config[CONFIG_SIZE];
	u32 time_high;
	struct eventfd_ctx *trigger;
};

static struct class *class;
static struct mdev_driver driver;

/* ---- Configuration space ---- */

static void put16(u8 *config, u32 at, u16 value)
{
	*(__le16 *)(config + at) = cpu_to_le16(value);
}

static void put32(u8 *config, u32 at, u32 value)
{
	*(__le32 *)(config + at) = cpu_to_le32(value);
}

static void reset_config(u8 *c)
{
	memset(c, 0, CONFIG_SIZE);
	put16(c, PCI_VENDOR_ID, VFCAN_PCI_VENDOR);
	put16(c, PCI_DEVICE_ID, VFCAN_PCI_DEVICE);
	put16(c, PCI_SUBSYSTEM_VENDOR_ID, VFCAN_PCI_VENDOR);
	put16(c, PCI_SUBSYSTEM_ID, VFCAN_PCI_DEVICE);
	put16(c, PCI_STATUS, PCI_STATUS_CAP_LIST);
	put32(c, PCI_CLASS_REVISION, VFCAN_PCI_CLASS << 8 | VFCAN_VERSION);
	put32(c, PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_MEM_PREFETCH);
	c[PCI_CAPABILITY_LIST] = MSI_AT;
	c[MSI_AT] = PCI_CAP_ID_MSI;
	put16(c, MSI_AT + PCI_MSI_FLAGS, PCI_MSI_FLAGS_64BIT);
}

/* Which bits of a byte can be written. */
static u8 writable(u32 at)
{
	static const u32 sizes[] = {
		[VFCAN_REGISTERS_BAR] = VFCAN_REGISTERS_SIZE,
		[VFCAN_MEMORY_BAR] = VFCAN_MEMORY_SIZE,
	};
	u32 bar = (at - PCI_BASE_ADDRESS_0) / 4;

	if (at == PCI_COMMAND)
		return PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
	if (at == PCI_COMMAND + 1)
		return PCI_COMMAND_INTX_DISABLE >> 8;
	if (at == PCI_CACHE_LINE_SIZE || at == PCI_INTERRUPT_LINE)
		return 0xff;
	if (at >= PCI_BASE_ADDRESS_0 && bar < ARRAY_SIZE(sizes) && sizes[bar])
		return ~(sizes[bar] - 1) >> (at % 4 * 8);
	if (at == MSI_AT + PCI_MSI_FLAGS)
		return PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE;
	if (at == MSI_AT + PCI_MSI_ADDRESS_LO)
		return 0xfc;
	if (at > MSI_AT + PCI_MSI_ADDRESS_LO && at < MSI_AT + PCI_MSI_DATA_64 + 2)
		return 0xff;
	return 0;
}

static void write_config(struct vf *vf, u32 at, const u8 *bytes, size_t count)
{
	u8 *config = vf->config;
	size_t i;

	for (i = 0; i < count; i++) {
		u8 mask = writable(at + i);

		config[at + i] = (config[at + i] & ~mask) | (bytes[i] & mask);
	}
}

/* ---- Registers ---- */

static u32 read_register(struct vf *vf, u32 reg)
{
	u64 now;

	if (reg == VFCAN_REG_TIME_HIGH)
		return vf->time_high;
	if (reg != VFCAN_REG_TIME)
		return bitcan_function_read(vf->s, vf->n, reg);
	now = ktime_get_ns();
	vf->time_high = now >> 32;
	return now;
}

/* One access, within one region; -EINVAL: registers have words only. */
static int access(struct vf *vf, u32 index, u32 at, u8 *bytes, size_t count, bool write)
{
	__le32 word;

	if (index == VFIO_PCI_CONFIG_REGION_INDEX) {
		if (write)
			write_config(vf, at, bytes, count);
		else
			memcpy(bytes, vf->config + at, count);
		return 0;
	}
	if (index == VFCAN_MEMORY_BAR) {
		u8 *memory = (u8 *)vf->s->ctl.function[vf->n].memory + at;

		if (write)
			memcpy(memory, bytes, count);
		else
			memcpy(bytes, memory, count);
		return 0;
	}
	if (count != 4 || at % 4)
		return -EINVAL;
	if (write) {
		memcpy(&word, bytes, 4);
		bitcan_function_write(vf->s, vf->n, at, le32_to_cpu(word));
	} else {
		word = cpu_to_le32(read_register(vf, at));
		memcpy(bytes, &word, 4);
	}
	return 0;
}

static u32 region_size(u32 index)
{
	switch (index) {
	case VFIO_PCI_CONFIG_REGION_INDEX:
		return CONFIG_SIZE;
	case VFCAN_REGISTERS_BAR:
		return VFCAN_REGISTERS_SIZE;
	case VFCAN_MEMORY_BAR:
		return VFCAN_MEMORY_SIZE;
	}
	return 0;
}

static ssize_t transfer(struct vfio_device *vdev, char __user *to, const char __user *from,
			size_t count, loff_t *offset)
{
	struct vf *vf = container_of(vdev, struct vf, vdev);
	u64 index = (u64)*offset >> INDEX_SHIFT, at = *offset & (BIT_ULL(INDEX_SHIFT) - 1);
	size_t done = 0, size;
	u8 bytes[4];
	int err = 0;

	while (done < count && !err) {
		/* The largest piece that is aligned: registers see what the machine wrote. */
		size = min_t(size_t, count - done, 4);
		size = at % 4 || size == 3 ? 1 : size;
		if (index >= VFIO_PCI_NUM_REGIONS || at + size > region_size(index))
			return done ?: -EINVAL;
		if (from && copy_from_user(bytes, from + done, size))
			return -EFAULT;
		mutex_lock(&vf->mutex);
		err = access(vf, index, at, bytes, size, from);
		mutex_unlock(&vf->mutex);
		if (!err && to && copy_to_user(to + done, bytes, size))
			return -EFAULT;
		done += size;
		at += size;
	}
	if (err)
		return err;
	*offset += done;
	return done;
}

static ssize_t vf_read(struct vfio_device *vdev, char __user *to, size_t count, loff_t *offset)
{
	return transfer(vdev, to, NULL, count, offset);
}

static ssize_t vf_write(struct vfio_device *vdev, const char __user *from, size_t count,
			loff_t *offset)
{
	return transfer(vdev, NULL, from, count, offset);
}

/* The message memory: no access to it is an exit. */
static int vf_mmap(struct vfio_device *vdev, struct vm_area_struct *vma)
{
	struct vf *vf = container_of(vdev, struct vf, vdev);
	unsigned long page = vma->vm_pgoff & (BIT_ULL(INDEX_SHIFT - PAGE_SHIFT) - 1);

	if (vma->vm_pgoff >> (INDEX_SHIFT - PAGE_SHIFT) != VFCAN_MEMORY_BAR ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	return remap_vmalloc_range(vma, vf->s->ctl.function[vf->n].memory, page);
}

/* ---- What a virtual machine monitor asks for ---- */

/* Under vf->mutex. The interrupt goes to this event; NULL: to nobody. */
static void set_trigger(struct vf *vf, struct eventfd_ctx *trigger)
{
	struct eventfd_ctx *old = vf->trigger;

	vf->trigger = trigger;
	bitcan_function_trigger(vf->s, vf->n, trigger);
	if (old)
		eventfd_ctx_put(old);
}

static void reset(struct vf *vf)
{
	mutex_lock(&vf->mutex);
	bitcan_function_write(vf->s, vf->n, VFCAN_REG_CONTROL, VFCAN_CONTROL_RESET);
	reset_config(vf->config);
	vf->time_high = 0;
	mutex_unlock(&vf->mutex);
}

static long get_info(void __user *arg)
{
	struct vfio_device_info info = {
		.argsz = sizeof(info),
		.flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET,
		.num_regions = VFIO_PCI_NUM_REGIONS,
		.num_irqs = VFIO_PCI_NUM_IRQS,
	};
	size_t most = offsetofend(struct vfio_device_info, num_irqs);
	u32 argsz;

	if (get_user(argsz, (u32 __user *)arg))
		return -EFAULT;
	if (argsz < most)
		return -EINVAL;
	return copy_to_user(arg, &info, most) ? -EFAULT : 0;
}

static int region_info(struct vfio_region_info *info)
{
	if (info->index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	info->cap_offset = 0;
	info->offset = (u64)info->index << INDEX_SHIFT;
	info->size = region_size(info->index);
	info->flags = 0;
	if (info->size)
		info->flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	if (info->index == VFCAN_MEMORY_BAR)
		info->flags |= VFIO_REGION_INFO_FLAG_MMAP;
	return 0;
}

#ifdef BITCAN_REGION_INFO_CAPS
static int vf_region_info(struct vfio_device *vdev, struct vfio_region_info *info,
			  struct vfio_info_cap *caps)
{
	return region_info(info);
}
#else
static long get_region_info(void __user *arg)
{
	struct vfio_region_info info;
	size_t most = offsetofend(struct vfio_region_info, offset);
	int err;

	if (copy_from_user(&info, arg, most))
		return -EFAULT;
	if (info.argsz < most)
		return -EINVAL;
	info.argsz = most;
	err = region_info(&info);
	if (err)
		return err;
	return copy_to_user(arg, &info, most) ? -EFAULT : 0;
}
#endif

static long get_irq_info(void __user *arg)
{
	struct vfio_irq_info info;
	size_t most = offsetofend(struct vfio_irq_info, count);

	if (copy_from_user(&info, arg, most))
		return -EFAULT;
	if (info.argsz < most || info.index >= VFIO_PCI_NUM_IRQS)
		return -EINVAL;
	info.count = info.index == VFIO_PCI_MSI_IRQ_INDEX;
	info.flags = info.count ? VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE : 0;
	return copy_to_user(arg, &info, most) ? -EFAULT : 0;
}

static long set_irqs(struct vf *vf, void __user *arg)
{
	size_t most = offsetofend(struct vfio_irq_set, count);
	struct eventfd_ctx *trigger = NULL;
	struct vfio_irq_set set;
	s32 fd = -1;

	if (copy_from_user(&set, arg, most))
		return -EFAULT;
	if (set.argsz < most || set.index != VFIO_PCI_MSI_IRQ_INDEX || set.start || set.count > 1 ||
	    (set.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) != VFIO_IRQ_SET_ACTION_TRIGGER)
		return -EINVAL;
	if ((set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK) == VFIO_IRQ_SET_DATA_EVENTFD) {
		if (set.count != 1 || set.argsz < most + sizeof(fd))
			return -EINVAL;
		if (copy_from_user(&fd, arg + most, sizeof(fd)))
			return -EFAULT;
	} else if (set.count) {
		return -EINVAL;
	}
	if (fd >= 0) {
		trigger = eventfd_ctx_fdget(fd);
		if (IS_ERR(trigger))
			return PTR_ERR(trigger);
	}
	mutex_lock(&vf->mutex);
	set_trigger(vf, trigger);
	mutex_unlock(&vf->mutex);
	return 0;
}

static long vf_ioctl(struct vfio_device *vdev, unsigned int cmd, unsigned long arg)
{
	struct vf *vf = container_of(vdev, struct vf, vdev);
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case VFIO_DEVICE_GET_INFO:
		return get_info(user);
#ifndef BITCAN_REGION_INFO_CAPS
	case VFIO_DEVICE_GET_REGION_INFO:
		return get_region_info(user);
#endif
	case VFIO_DEVICE_GET_IRQ_INFO:
		return get_irq_info(user);
	case VFIO_DEVICE_SET_IRQS:
		return set_irqs(vf, user);
	case VFIO_DEVICE_RESET:
		reset(vf);
		return 0;
	}
	return -ENOTTY;
}

static int vf_open(struct vfio_device *vdev)
{
	reset(container_of(vdev, struct vf, vdev));
	return 0;
}

/* Also when the machine has died: its function is as at first. */
static void vf_close(struct vfio_device *vdev)
{
	struct vf *vf = container_of(vdev, struct vf, vdev);

	mutex_lock(&vf->mutex);
	set_trigger(vf, NULL);
	mutex_unlock(&vf->mutex);
	reset(vf);
}

/* ---- Which there are ---- */

static int vf_init(struct vfio_device *vdev)
{
	struct vf *vf = container_of(vdev, struct vf, vdev);
	struct mdev_device *mdev = to_mdev_device(vdev->dev);
	struct presented *p = container_of(mdev->type, struct presented, type);

	mutex_init(&vf->mutex);
	vf->s = p->s;
	vf->n = bitcan_function_claim(p->s);
	if (vf->n < 0)
		return vf->n;
	reset_config(vf->config);
	return 0;
}

static void vf_release(struct vfio_device *vdev)
{
	struct vf *vf = container_of(vdev, struct vf, vdev);

	bitcan_function_release(vf->s, vf->n);
#ifdef BITCAN_VFIO_FREE
	vfio_free_device(vdev);
#endif
}

static const struct vfio_device_ops ops = {
	.name = "bitcan-vf",
	.init = vf_init,
	.release = vf_release,
	.open_device = vf_open,
	.close_device = vf_close,
	.read = vf_read,
	.write = vf_write,
	.ioctl = vf_ioctl,
	.mmap = vf_mmap,
#ifdef BITCAN_REGION_INFO_CAPS
	.get_region_info_caps = vf_region_info,
#endif
#ifdef BITCAN_IOMMUFD
	.bind_iommufd = vfio_iommufd_emulated_bind,
	.unbind_iommufd = vfio_iommufd_emulated_unbind,
	.attach_ioas = vfio_iommufd_emulated_attach_ioas,
#endif
};

static int probe(struct mdev_device *mdev)
{
	struct vf *vf = vfio_alloc_device(vf, vdev, &mdev->dev, &ops);
	int err;

	if (IS_ERR(vf))
		return PTR_ERR(vf);
	dev_set_drvdata(&mdev->dev, vf);
	err = vfio_register_emulated_iommu_dev(&vf->vdev);
	if (err)
		vfio_put_device(&vf->vdev);
	return err;
}

static void remove(struct mdev_device *mdev)
{
	struct vf *vf = dev_get_drvdata(&mdev->dev);

	vfio_unregister_group_dev(&vf->vdev);
	vfio_put_device(&vf->vdev);
}

static unsigned int get_available(struct mdev_type *type)
{
	return bitcan_functions_free(container_of(type, struct presented, type)->s);
}

static ssize_t function_show(struct device *dev, struct device_attribute *attr, char *to)
{
	const struct vf *vf = dev_get_drvdata(dev);

	return sysfs_emit(to, "%s/%d\n", vf->s->name, vf->n);
}
static DEVICE_ATTR_RO(function);

static struct attribute *function_attrs[] = { &dev_attr_function.attr, NULL };
ATTRIBUTE_GROUPS(function);

static struct mdev_driver driver = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.probe = probe,
	.remove = remove,
	.get_available = get_available,
	.driver = {
		.name = "bitcan-vf",
		.owner = THIS_MODULE,
		.mod_name = KBUILD_MODNAME,
		.dev_groups = function_groups,
	},
};

static int add(struct bitcan_shared *s)
{
	struct presented *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return -ENOMEM;
	p->s = s;
	p->type.sysfs_name = "function";
	p->type.pretty_name = "virtual function of a CAN controller";
	p->types[0] = &p->type;
	p->device = device_create(class, NULL, MKDEV(0, 0), p, "%s", s->name);
	if (IS_ERR(p->device)) {
		err = PTR_ERR(p->device);
		goto no_device;
	}
	err = mdev_register_parent(&p->parent, p->device, &driver, p->types, 1);
	if (err)
		goto no_parent;
	s->presented = p;
	return 0;

no_parent:
	device_unregister(p->device);
no_device:
	kfree(p);
	return err;
}

static void take_away(struct bitcan_shared *s)
{
	struct presented *p = s->presented;

	if (!p)
		return;
	s->presented = NULL;
	mdev_unregister_parent(&p->parent);
	device_unregister(p->device);
	kfree(p);
}

static const struct bitcan_presenter presenter = { .add = add, .remove = take_away };

static int __init bitcan_mdev_init(void)
{
	int err;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	class = class_create("bitcan-pf");
#else
	class = class_create(THIS_MODULE, "bitcan-pf");
#endif
	if (IS_ERR(class))
		return PTR_ERR(class);
	err = mdev_register_driver(&driver);
	if (err)
		goto no_driver;
	err = bitcan_present(&presenter);
	if (err)
		goto not_presented;
	return 0;

not_presented:
	bitcan_present_no_more();
	mdev_unregister_driver(&driver);
no_driver:
	class_destroy(class);
	return err;
}

static void __exit bitcan_mdev_exit(void)
{
	bitcan_present_no_more();
	mdev_unregister_driver(&driver);
	class_destroy(class);
}

module_init(bitcan_mdev_init);
module_exit(bitcan_mdev_exit);

MODULE_DESCRIPTION("Virtual functions of a CAN controller as mediated PCI devices");
MODULE_LICENSE("GPL");
