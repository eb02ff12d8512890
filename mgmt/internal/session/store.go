// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
)

// storeFormat changes when an older file can no longer be read.
const storeFormat = 7

// stored is what is kept between invocations: the configuration and the tables, without keys.
type stored struct {
	Format int `json:"format"`
	// Generation is also in the SCRATCH register of each chip, so that a file is never taken for another box's, or for the
	// same box's before a reset.
	Generation uint32         `json:"generation"`
	Model      *model.Model   `json:"model"`
	Image      *compile.Image `json:"image"`
	// Hops are the next hops that the image leads to and that nobody wrote the addresses of.
	Hops []model.NextHop `json:"hops,omitempty"`
}

// begin is what a change goes on from: what is stored stays as it is.
func (s *stored) begin() *stored {
	own := *s
	own.Model = s.Model.Begin()
	return &own
}

func newStored() *stored {
	return &stored{Format: storeFormat, Model: model.NewModel(), Image: compile.NewImage()}
}

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

// loadStore reads the state file; one that is not there is an empty configuration.
func loadStore(path string) (*stored, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newStored(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the state file: %w", err)
	}
	s := newStored()
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("the state file %s is damaged (%w): remove it and load the configuration again", path, err)
	}
	if s.Format != storeFormat || s.Model == nil || s.Image == nil {
		return nil, fmt.Errorf("the state file %s has format %d, this program reads %d: remove it and load the configuration again with new keys, because its marks of used keys are lost", path, s.Format, storeFormat)
	}
	return s, nil
}

// saveStore replaces the state file whole.
func saveStore(path string, s *stored) error { return replaceFile(path, s) }

// replaceFile writes a value as JSON in place of a file, which another process finds as it was before or whole.
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
