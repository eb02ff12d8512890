// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"io"
	"log"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"

	"sallyport/mgmt/internal/mesh"
)

// libraryLog hands lines of a library to the daemon's log, as details: what an administrator has to
// know this package says itself.
type libraryLog struct{ log *slog.Logger }

// mostLine is how much of a line is logged, in bytes.
const mostLine = 400

// Write takes a line.
func (l libraryLog) Write(line []byte) (int, error) {
	l.log.Debug("the cluster's libraries say", "line", mesh.Line(string(line[:min(len(line), mostLine)])))
	return len(line), nil
}

func raftLog(l *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Warn, Output: libraryLog{l}, DisableTime: true})
}

func gossipLog(l *slog.Logger) *log.Logger { return log.New(warnings{libraryLog{l}}, "", 0) }

// warnings leaves out what memberlist says of each packet.
type warnings struct{ io.Writer }

// Write takes a line.
func (w warnings) Write(line []byte) (int, error) {
	if strings.HasPrefix(string(line), "[DEBUG]") {
		return len(line), nil
	}
	return w.Writer.Write(line)
}
