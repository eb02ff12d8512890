// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const tun = "/dev/net/tun"

// Device says what the device of a port is to be.
type Device struct {
	Name string
	MAC  net.HardwareAddr // the port's own; none: the kernel chooses one
	MTU  int
}

// tap is a device of Linux: Linux receives the frames written to it, and the frames that Linux
// sends can be read. Of a TUN they are IP packets.
type tap struct {
	file  *os.File
	kind  string
	name  string
	index int
	mac   atomic.Pointer[net.HardwareAddr] // none of a TUN
}

// kinds are the kinds of devices by their flag.
var kinds = map[uint16]string{unix.IFF_TAP: "TAP", unix.IFF_TUN: "TUN"}

// open makes the device, or takes an existing one without a user, and sets it up. A device that it
// made goes with the program.
func open(device Device, flag uint16) (*tap, error) {
	kind := kinds[flag]
	wrong := func(err error) error { return fmt.Errorf("%s %s: %w", kind, device.Name, err) }
	request, err := unix.NewIfreq(device.Name)
	if err != nil {
		return nil, wrong(fmt.Errorf("a device's name has 1 to %d characters", unix.IFNAMSIZ-1))
	}
	fd, err := unix.Open(tun, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, wrong(fmt.Errorf("%s: %w", tun, err))
	}
	request.SetUint16(flag | unix.IFF_NO_PI)
	err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	t := &tap{file: os.NewFile(uintptr(fd), tun), kind: kind, name: device.Name}
	switch {
	case errors.Is(err, unix.EBUSY):
		err = errors.New("another program uses it")
	case errors.Is(err, unix.EPERM):
		err = errors.New("no right to make it; run as root, or with CAP_NET_ADMIN")
	case errors.Is(err, unix.EINVAL):
		err = errors.New("a device of this name exists and is no " + kind + " of one queue")
	case err == nil:
		err = t.settle(device)
	}
	if err != nil {
		t.file.Close()
		return nil, wrong(err)
	}
	return t, nil
}

// settle gives the device its address and MTU, ties it to its port, and sets it up.
func (t *tap) settle(device Device) error {
	// Linux is a host here and no router: what the box punts because it has no SA for it must not
	// leave by the other port in clear. And it speaks of a port's addresses on that port alone.
	settings := map[string]string{
		"ipv4/conf/" + t.name + "/forwarding": "0",
		"ipv4/conf/" + t.name + "/arp_ignore": "1",
		"ipv6/conf/" + t.name + "/forwarding": "0",
		// Routes and addresses are the administrator's: no neighbour and no peer may give others.
		"ipv6/conf/" + t.name + "/accept_ra": "0",
	}
	for path, want := range settings {
		err := os.WriteFile("/proc/sys/net/"+path, []byte(want), 0)
		// a kernel without IPv6 forwards none
		if err != nil && !(strings.HasPrefix(path, "ipv6") && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	link, err := netlink.LinkByName(t.name)
	if err != nil {
		return err
	}
	t.index = link.Attrs().Index
	if len(device.MAC) > 0 {
		err = t.address(device.MAC)
	} else if own := link.Attrs().HardwareAddr; len(own) > 0 {
		t.mac.Store(&own)
	}
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(link, device.MTU); err != nil {
		return fmt.Errorf("mtu %d: %w", device.MTU, err)
	}
	return netlink.LinkSetUp(link)
}

// address gives the device an Ethernet address, which needs no rights through the descriptor that
// holds it.
func (t *tap) address(mac net.HardwareAddr) error {
	request := struct { // ifreq with ifr_hwaddr
		name   [unix.IFNAMSIZ]byte
		family uint16
		mac    [14]byte
		_      [8]byte
	}{family: unix.ARPHRD_ETHER}
	copy(request.name[:], t.name)
	copy(request.mac[:], mac)
	conn, err := t.file.SyscallConn()
	if err != nil {
		return t.named(err)
	}
	var errno unix.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, unix.SIOCSIFHWADDR, uintptr(unsafe.Pointer(&request)))
	})
	if err == nil && errno != 0 {
		err = fmt.Errorf("address %s: %w", mac, errno)
	}
	if err == nil {
		t.mac.Store(&mac)
	}
	return t.named(err)
}

// write hands Linux a frame. False if it does not take it: the device is down.
func (t *tap) write(frame []byte) (bool, error) {
	_, err := t.file.Write(frame)
	if errors.Is(err, unix.EIO) {
		return false, nil
	}
	return err == nil, t.named(err)
}

// read waits for the next frame that Linux sends.
func (t *tap) read(buffer []byte) (int, error) {
	size, err := t.file.Read(buffer)
	return size, t.named(err)
}

func (t *tap) named(err error) error {
	if errors.Is(err, unix.EBADFD) {
		return fmt.Errorf("%s %s was deleted, or the namespace that it was in", t.kind, t.name)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", t.kind, t.name, err)
	}
	return nil
}
