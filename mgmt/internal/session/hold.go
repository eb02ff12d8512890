// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/store"
)

// Hold takes the lock of the state file until Release. So this session alone has the box, and reads
// the file once. Hold waits until other sessions end, or ctx does.
func (s *Session) Hold(ctx context.Context) error {
	unlock, err := s.take(ctx)
	if err == nil {
		s.held = unlock
	}
	return err
}

// Release lets others have the box.
func (s *Session) Release() error {
	unlock := s.held
	s.held, s.kept = nil, nil
	s.published.view.Store(nil)
	return unlock()
}

// lock keeps others out until the function that it returns is called.
func (s *Session) lock() (unlock func(), err error) {
	if s.held != nil {
		return func() {}, nil
	}
	release, err := s.take(context.Background())
	if err != nil {
		return nil, err
	}
	return func() { _ = release() }, nil
}

// take locks the state file and opens it.
func (s *Session) take(ctx context.Context) (release func() error, err error) {
	lock, err := lockStore(ctx, s.StatePath)
	if err != nil {
		return nil, err
	}
	if s.store, err = store.Open(s.StatePath); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return func() error { return errors.Join(s.store.Close(), lock.Close()) }, nil
}

// Adopted reports whether the chips hold the configuration of the state file. They do if a session
// starts while they carry traffic. They do not after a reset of one of them, an erasure of the
// keys, or an unfinished change.
func (s *Session) Adopted() (bool, error) {
	unlock, err := s.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	_, found, err := s.compare()
	return err == nil && found.tables == tablesKnown, err
}

// lockAgain is how often a lock is asked for that another session has.
const lockAgain = 5 * time.Millisecond

// lockStore keeps other invocations out until the file it returns is closed. It waits for them no
// longer than ctx lasts.
func lockStore(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, disk.Failed("cannot lock the state file "+path, err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return file, nil
		case ctx.Err() != nil:
			file.Close()
			return nil, fmt.Errorf("cannot lock %s: another program has it, and this one is to end", file.Name())
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			file.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lockAgain):
		}
	}
}
