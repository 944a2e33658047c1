// SPDX-License-Identifier: GPL-2.0
/* The devices themselves: there as long as their controller is, and as somebody has them open. */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "core.h"

#define DEVICES 64

static dev_t first;
static struct class *class;
static DEFINE_IDA(minors);

int canchar_init(void)
{
	int err = alloc_chrdev_region(&first, 0, DEVICES, "canchar");

	if (err)
		return err;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	class = class_create(KBUILD_MODNAME "-canchar");
#else
	class = class_create(THIS_MODULE, KBUILD_MODNAME "-canchar");
#endif
	if (IS_ERR(class)) {
		unregister_chrdev_region(first, DEVICES);
		return PTR_ERR(class);
	}
	return 0;
}

void canchar_exit(void)
{
	class_destroy(class);
	unregister_chrdev_region(first, DEVICES);
}

static void release(struct device *device)
{
	struct canchar_dev *dev = container_of(device, struct canchar_dev, device);

	ida_free(&minors, MINOR(device->devt) - MINOR(first));
	mutex_destroy(&dev->mutex);
	kfree(dev);
}

/* A device below /dev that is stopped. Its name is free, or the error is -EEXIST. */
struct canchar_dev *canchar_register(const struct canchar_model *model, const char *name,
				     const char *bus, struct device *parent, void *data)
{
	struct canchar_dev *dev;
	int minor, err;

	if (model->buffers > CANCHAR_BUFFERS)
		return ERR_PTR(-EINVAL);
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	minor = ida_alloc_max(&minors, DEVICES - 1, GFP_KERNEL);
	if (minor < 0) {
		kfree(dev);
		return ERR_PTR(minor);
	}
	dev->model = model;
	strscpy(dev->bus, bus, sizeof(dev->bus));
	dev->state = CANCHAR_STATE_STOPPED;
	dev->control.version = CANCHAR_VERSION;
	mutex_init(&dev->mutex);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->files);
	INIT_LIST_HEAD(&dev->waiting);
	INIT_DELAYED_WORK(&dev->restart, canchar_restart);
	device_initialize(&dev->device);
	dev->device.class = class;
	dev->device.parent = parent;
	dev->device.devt = MKDEV(MAJOR(first), MINOR(first) + minor);
	dev->device.release = release;
	dev_set_drvdata(&dev->device, data);
	err = dev_set_name(&dev->device, "%s", name);
	if (!err) {
		cdev_init(&dev->cdev, &canchar_fops);
		dev->cdev.owner = THIS_MODULE;
		err = cdev_device_add(&dev->cdev, &dev->device);
	}
	if (err) {
		put_device(&dev->device);
		return ERR_PTR(err);
	}
	return dev;
}

/*
 * The controller goes away. Files that are open stay so: all that is done to them fails, and they
 * hang up.
 */
void canchar_unregister(struct canchar_dev *dev)
{
	struct canchar_file *file;

	cdev_device_del(&dev->cdev, &dev->device);
	mutex_lock(&dev->mutex);
	canchar_stop(dev);
	spin_lock_irq(&dev->lock);
	dev->gone = true;
	list_for_each_entry(file, &dev->files, list) {
		wake_up_interruptible_all(&file->readable);
		wake_up_interruptible_all(&file->writable);
	}
	spin_unlock_irq(&dev->lock);
	mutex_unlock(&dev->mutex);
	cancel_delayed_work_sync(&dev->restart);
	put_device(&dev->device);
}
