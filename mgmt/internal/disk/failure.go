// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"io/fs"
	"os"
)

// Failure says that a file could not be written before anything else was done: the request is
// refused, and all is as it was.
type Failure struct {
	doing string
	cause error
}

// Failed makes a Failure of an error while doing something, nil of none.
func Failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{doing, reason(err)}
}

func (f *Failure) Error() string { return f.doing + ": " + f.cause.Error() }

func (f *Failure) Unwrap() error { return f.cause }

// IsFailure says whether an error is one.
func IsFailure(err error) bool {
	var failure *Failure
	return errors.As(err, &failure)
}

// reason is why an access to a file failed, without its path.
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
