// SPDX-License-Identifier: GPL-2.0
/*
 * shmcan_uio.ko: lets a process wait for the doorbell of an ivshmem device (UIO). It takes only devices that are given to it
 * by driver_override; the process maps their regions by sysfs.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uio_driver.h>

#include "shmcan.h"

static irqreturn_t rung(int irq, struct uio_info *info)
{
	/* A message that was sent; there is nothing to acknowledge. */
	return IRQ_HANDLED;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct uio_info *info;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	info = devm_kzalloc(&pdev->dev, sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (err < 0) {
		dev_err(&pdev->dev, "no message-signalled interrupt: is it ivshmem-doorbell?\n");
		return err;
	}
	info->name = "shmcan_uio";
	info->version = "1";
	info->irq = pci_irq_vector(pdev, 0);
	info->handler = rung;
	err = uio_register_device(&pdev->dev, info);
	if (err) {
		pci_free_irq_vectors(pdev);
		return err;
	}
	pci_set_drvdata(pdev, info);
	return 0;
}

static void remove(struct pci_dev *pdev)
{
	uio_unregister_device(pci_get_drvdata(pdev));
	pci_free_irq_vectors(pdev);
}

/* None: whoever wants it writes its name into driver_override. */
static const struct pci_device_id ids[] = {
	{},
};

static struct pci_driver shmcan_uio_driver = {
	.name = "shmcan_uio",
	.id_table = ids,
	.probe = probe,
	.remove = remove,
};
module_pci_driver(shmcan_uio_driver);
MODULE_DESCRIPTION("Doorbells of shared memory for processes");
MODULE_LICENSE("GPL");
