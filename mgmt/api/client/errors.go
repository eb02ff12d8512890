// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"sallyport/mgmt/api"
)

// Sentence is what an error of the daemon says, without its code.
func Sentence(err error) string {
	var answered *connect.Error
	if errors.As(err, &answered) {
		return answered.Message()
	}
	return err.Error()
}

// Refused says whether an error has left everything as it was: the request is at fault, may not be
// made, or is of another version, a certificate does not count, or a file could not be written.
func Refused(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeFailedPrecondition, connect.CodePermissionDenied, connect.CodeUnauthenticated, connect.CodeUnimplemented:
		return err != nil
	}
	return false
}

// versions refuses the answers of a daemon that speaks another major version.
type versions struct{}

func check(version string) error {
	switch {
	case version == "":
		return connect.NewError(connect.CodeUnimplemented, errors.New("what answers here is not the API of sallyportd"))
	case api.Major(version) != api.Major(api.Version):
		return connect.NewError(connect.CodeUnimplemented, fmt.Errorf("sallyportd speaks version %.20s of its API, and this program %s: use programs of one release", version, api.Version))
	}
	return nil
}

// checkError looks at the version in an error of the daemon; one of the way to it has none.
func checkError(err error) error {
	var answered *connect.Error
	if errors.As(err, &answered) {
		if version := answered.Meta().Get(api.VersionHeader); version != "" && check(version) != nil {
			return check(version)
		}
	}
	return err
}

// WrapUnary implements connect.Interceptor.
func (versions) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		answer, err := next(ctx, r)
		if err != nil {
			return nil, checkError(err)
		}
		if err := check(answer.Header().Get(api.VersionHeader)); err != nil {
			return nil, err
		}
		return answer, nil
	}
}

// WrapStreamingClient implements connect.Interceptor. Events looks at the version itself.
func (versions) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (versions) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
