// SPDX-License-Identifier: Apache-2.0

package place

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A daemon has the box alone. Other programs drive the box directly for a moment, and several at
// once: the lock of the state file keeps them apart. So there is a second lock, on the file below:
// the daemon's is exclusive, theirs is shared. The kernel lets go of either when its holder dies.

// patience is how long a daemon waits for other programs to finish.
const patience = 10 * time.Second

// ErrHeld is in the error of Share while a daemon has the box.
var ErrHeld = errors.New("sallyportd has this box")

// Share lets its caller drive the box directly until it closes what this returns.
func (p Place) Share() (io.Closer, error) {
	file, err := p.open()
	if err != nil {
		return nil, err
	}
	if err := flock(file, syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(file)
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: use sallyctl --daemon %s, or stop it first", ErrHeld, cmp.Or(strings.TrimSpace(string(holder)), "PATH"))
		}
		return nil, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
	}
	return file, nil
}

// Claim gives the box to a daemon, which can be reached at `control`, until it closes what this
// returns or dies.
func (p Place) Claim(control string) (io.Closer, error) {
	file, err := p.open()
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(patience / 100) {
		err = flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(deadline) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errors.New("another sallyportd, or a sallyctl that does not end, has the box")
	}
	if err == nil {
		err = errors.Join(file.Truncate(0), writeAt(file, control+"\n"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot claim %s: %w", file.Name(), err), file.Close())
	}
	return file, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func (p Place) open() (*os.File, error) {
	name := p.base() + ".owner"
	if p.PCI != "" {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			return nil, fmt.Errorf("cannot make the folder of %s: %w", name, err)
		}
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o660)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock of the box: %w", err)
	}
	return file, nil
}

func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}
