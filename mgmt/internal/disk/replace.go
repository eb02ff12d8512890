// SPDX-License-Identifier: Apache-2.0

// Package disk writes files whole or not at all, also on a disk that is full.
package disk

import (
	"errors"
	"os"
)

// Replace writes a file in place of another, which other processes find as it was or whole. Its
// mode is 0600. No two callers may write the same file at once: each begins PATH.new, so that kills
// leave one file at most. The error says why, without the path.
func Replace(path string, text []byte) error {
	begun := path + ".new"
	file, err := os.OpenFile(begun, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return reason(err)
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(begun, path)
	}
	if err != nil {
		return reason(errors.Join(err, os.Remove(begun)))
	}
	return nil
}
