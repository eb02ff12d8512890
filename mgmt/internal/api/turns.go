// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"sallyport/mgmt/api/sallyport/v1/sallyportv1connect"
)

// mostTurns is how many requests of one client of the network are carried out at once, by whichever
// of its connections. Each may have an answer of all SAs in memory until the client has read it.
const mostTurns = 4

// turns are those of one client; nil: it need not wait for any.
type turns chan struct{}

// take waits for a turn, which the caller gives back; false where ctx ends before. A stream of
// events takes none: it lasts, and has one event in memory.
func (t turns) take(ctx context.Context, path string) (leave func(), ok bool) {
	if t == nil || path == sallyportv1connect.BoxServiceWatchProcedure {
		return func() {}, true
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, true
	case <-ctx.Done():
		return nil, false
	}
}
