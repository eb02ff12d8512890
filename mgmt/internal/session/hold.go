// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/store"
)

// Hold takes the lock of the state file until Release. So this session alone has the box, and reads
// the file once. Hold waits for other sessions to end.
func (s *Session) Hold() error {
	unlock, err := s.take()
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
	release, err := s.take()
	if err != nil {
		return nil, err
	}
	return func() { _ = release() }, nil
}

// take locks the state file and opens it.
func (s *Session) take() (release func() error, err error) {
	lock, err := lockStore(s.StatePath)
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

// lockStore keeps other invocations out until the file it returns is closed.
func lockStore(path string) (*os.File, error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, disk.Failed("cannot lock the state file "+path, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
	}
	return file, nil
}
