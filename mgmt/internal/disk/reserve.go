// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Reserve makes sure that a file can be written from a place on up to another, without changing how
// long it is. A file system that cannot promise that promises nothing.
func Reserve(path string, from, to int64) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return reason(err)
	}
	err = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, to-from)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		err = nil
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return reason(err)
}

// Trim gives back what Reserve holds behind the end of a file.
func Trim(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size())
	}
	return reason(err)
}
