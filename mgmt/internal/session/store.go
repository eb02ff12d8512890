// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockStore keeps other invocations out until the file it returns is closed.
func lockStore(path string) (*os.File, error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the state file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
	}
	return file, nil
}

// replaceFile writes a value as JSON in place of a file, which another process finds as it was
// before or whole.
func replaceFile(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot write the state file: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("cannot write the state file: %w", err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close()) // CreateTemp gives it mode 0600
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
		return fmt.Errorf("cannot write the state file %s: %w", path, err)
	}
	return nil
}
