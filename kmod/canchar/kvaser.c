// SPDX-License-Identifier: GPL-2.0
/*
 * Kvaser PCIcan and PCIcanx: up to four SJA1000 behind an AMCC S5920 bridge. What is known of them is in
 * Linux's drivers/net/can/sja1000/kvaser_pci.c and in the S5920's data book.
 */
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "kvaser.h"
#include "sja1000.h"

#define CHANNELS 4
#define SPACING 0x20		/* bytes from one controller's registers to the next one's */
#define BRIDGE 0		/* regions */
#define CONTROLLERS 1
#define INTCSR 0x38		/* the bridge's interrupt control */
#define ADD_ON_INTERRUPTS 0x2000
#define PTCR 0x60		/* its pass-through configuration: passive mode for all four regions */
#define PASSIVE 0x80808080

#define CRYSTAL 16000000
#define OUTPUT 0xd8		/* both driver stages push-pull */
#define CLOCK_DIVIDER 0x47	/* comparator bypassed, no clock output */

struct card {
	void __iomem *bridge, *controllers;
	unsigned int channels;
	struct channel {
		struct canchar_sja1000 chip;
		struct canchar_dev *dev;
		int number;	/* of its name */
	} channel[CHANNELS];
};

static DEFINE_IDA(numbers);

static const struct canchar_model model = CANCHAR_SJA1000_MODEL(CRYSTAL);

static void pass_interrupts(struct card *card, bool pass)
{
	u32 control = ioread32(card->bridge + INTCSR) & ~ADD_ON_INTERRUPTS;

	iowrite32(control | (pass ? ADD_ON_INTERRUPTS : 0), card->bridge + INTCSR);
}

static void drop_channels(struct card *card)
{
	while (card->channels) {
		struct channel *channel = &card->channel[--card->channels];

		canchar_unregister(channel->dev);
		ida_free(&numbers, channel->number);
	}
}

/* -ENODEV: this card has no such channel. */
static int add_channel(struct pci_dev *pdev, struct card *card)
{
	struct channel *channel = &card->channel[card->channels];
	char name[16], bus[32];
	struct canchar_dev *dev;

	channel->chip.base = card->controllers + card->channels * SPACING;
	channel->chip.irq = pdev->irq;
	channel->chip.output = OUTPUT;
	channel->chip.clock_divider = CLOCK_DIVIDER;
	if (!canchar_sja1000_silence(&channel->chip))
		return -ENODEV;
	channel->number = ida_alloc(&numbers, GFP_KERNEL);
	if (channel->number < 0)
		return channel->number;
	snprintf(name, sizeof(name), "can%d", channel->number);
	snprintf(bus, sizeof(bus), "%s channel %u", pci_name(pdev), card->channels);
	dev = canchar_register(&model, name, bus, &pdev->dev, &channel->chip);
	if (IS_ERR(dev)) {
		ida_free(&numbers, channel->number);
		return PTR_ERR(dev);
	}
	channel->dev = dev;
	card->channels++;
	pci_info(pdev, "channel %u is /dev/%s\n", card->channels - 1, name);
	return 0;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct card *card = kzalloc(sizeof(*card), GFP_KERNEL);
	int err;

	if (!card)
		return -ENOMEM;
	err = pci_enable_device(pdev);
	if (err)
		goto no_device;
	err = pci_request_regions(pdev, KBUILD_MODNAME);
	if (err)
		goto no_regions;
	err = -ENOMEM;
	card->bridge = pci_iomap(pdev, BRIDGE, PTCR + 4);
	if (!card->bridge)
		goto no_bridge;
	card->controllers = pci_iomap(pdev, CONTROLLERS, CHANNELS * SPACING);
	if (!card->controllers)
		goto no_controllers;
	iowrite32(PASSIVE, card->bridge + PTCR);
	pass_interrupts(card, true);
	pci_set_drvdata(pdev, card);
	do
		err = add_channel(pdev, card);
	while (!err && card->channels < CHANNELS);
	if (err == -ENODEV && card->channels)
		err = 0;
	if (!err)
		return 0;
	pci_err(pdev, "channel %u cannot be had: %d\n", card->channels, err);
	drop_channels(card);
	pass_interrupts(card, false);
	pci_iounmap(pdev, card->controllers);
no_controllers:
	pci_iounmap(pdev, card->bridge);
no_bridge:
	pci_release_regions(pdev);
no_regions:
	pci_disable_device(pdev);
no_device:
	kfree(card);
	return err;
}

static void remove(struct pci_dev *pdev)
{
	struct card *card = pci_get_drvdata(pdev);

	drop_channels(card);
	pass_interrupts(card, false);
	pci_iounmap(pdev, card->controllers);
	pci_iounmap(pdev, card->bridge);
	pci_release_regions(pdev);
	pci_disable_device(pdev);
	kfree(card);
}

static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(0x10e8, 0x8406) },
	{ PCI_DEVICE(0x1a07, 0x0008) },
	{}
};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver driver = {
	.name = "canchar_kvaser",
	.id_table = ids,
	.probe = probe,
	.remove = remove,
};

int canchar_kvaser_init(void)
{
	return pci_register_driver(&driver);
}

void canchar_kvaser_exit(void)
{
	pci_unregister_driver(&driver);
}
