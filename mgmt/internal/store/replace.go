// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file in place of another, which other processes find as it was or whole. Its
// mode is 0600. The error says why, without the path.
func Replace(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return reason(err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close()) // CreateTemp gives it mode 0600
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return reason(err)
}

// reason is why an access to a file failed. A second failure of the same access is left out.
func reason(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
