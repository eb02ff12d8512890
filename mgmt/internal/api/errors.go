// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/session"
)

func errorf(code connect.Code, format string, values ...any) error {
	return connect.NewError(code, fmt.Errorf(format, values...))
}

// failure gives an error of the daemon its code. Its sentence stays.
func failure(err error) error {
	code := connect.CodeUnavailable
	switch {
	case errors.Is(err, caller.ErrReader), errors.Is(err, caller.ErrRemoteReader):
		code = connect.CodePermissionDenied
	case session.IsInput(err):
		code = connect.CodeInvalidArgument
	case disk.IsFailure(err):
		code = connect.CodeFailedPrecondition
	}
	return connect.NewError(code, err)
}
