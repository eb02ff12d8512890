// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

// Package killpoint kills a process at any of its steps, for tests: a step is a system call that
// changes a file or tells another process something. The kernel asks the test before each one
// (seccomp_unotify(2), Linux 5.5), which needs no rights.
package killpoint

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wanted tells Enter that the process is to be under a filter.
const wanted = "SALLYPORT_KILLPOINT"

// handOver is the descriptor at which the child sends the supervisor's end of its filter.
const handOver = 3

// Enter begins the program again under the filter, if Start has started it; otherwise it returns.
// The filter is that of one thread, so the program that begins anew has it in all of its own.
func Enter() error {
	if os.Getenv(wanted) == "" {
		return nil
	}
	runtime.LockOSThread()
	listener, err := install()
	if err == nil {
		err = unix.Sendmsg(handOver, []byte{0}, unix.UnixRights(listener), nil, 0)
	}
	if err == nil {
		unix.CloseOnExec(handOver)
		err = os.Unsetenv(wanted)
	}
	if err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

// Child is a process that Start has started.
type Child struct {
	command  *exec.Cmd
	listener int
	ended    chan struct{} // closed once it has ended

	mu   sync.Mutex
	left int // steps until it is killed; 0: it is not
}

// Start runs a command whose program calls Enter. Its error says that this machine cannot.
func Start(command *exec.Cmd) (*Child, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(ends[0])
	theirs := os.NewFile(uintptr(ends[1]), "hand-over")
	command.ExtraFiles = []*os.File{theirs}
	// Signals with which Go parts goroutines would make calls begin again, which counts them twice.
	command.Env = append(command.Environ(), wanted+"=1", "GODEBUG=asyncpreemptoff=1")
	err = errors.Join(command.Start(), theirs.Close())
	if err != nil {
		return nil, err
	}
	listener, err := take(ends[0])
	if err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return nil, err
	}
	c := &Child{command: command, listener: listener, ended: make(chan struct{})}
	go func() {
		_ = command.Wait() // the test kills it
		close(c.ended)
	}()
	go c.answer()
	return c, nil
}

// take receives the listener of a child, whose end of the socket closes if it has none.
func take(socket int) (listener int, err error) {
	rights := make([]byte, unix.CmsgSpace(4))
	n, rest, _, _, err := unix.Recvmsg(socket, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("the child has no filter of its system calls (%v)", err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rest])
	if err != nil {
		return 0, err
	}
	list, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return list[0], nil
}

// KillAt has the child killed in place of its n-th step from now; 0: at none. It says whether the
// child lives.
func (c *Child) KillAt(n int) (lives bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = n
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// Kill ends the child and waits for its end.
func (c *Child) Kill() {
	_ = c.command.Process.Kill()
	<-c.ended
}

// Ended is closed once the child has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// notice and answer are struct seccomp_notif and seccomp_notif_resp.
type notice struct {
	id         uint64
	pid, flags uint32
	data       [64]byte
}

type answer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// answer lets steps pass until the child has ended.
func (c *Child) answer() {
	defer unix.Close(c.listener)
	for {
		asked := []unix.PollFd{{Fd: int32(c.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(asked, 100); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		switch {
		case asked[0].Revents&unix.POLLIN != 0:
			c.pass()
		case asked[0].Revents != 0:
			return
		}
		select {
		case <-c.ended:
			return
		default:
		}
	}
}

// pass lets one step pass, or kills the child.
func (c *Child) pass() {
	var asked notice
	if c.control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&asked)) != 0 {
		return // the call was interrupted, and begins again
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.left == 1
	c.left = max(c.left-1, 0)
	if last {
		c.Kill()
		return
	}
	reply := answer{id: asked.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	c.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply))
}

func (c *Child) control(request uintptr, argument unsafe.Pointer) syscall.Errno {
	_, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), request, uintptr(argument))
	return failed
}
