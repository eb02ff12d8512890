// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"cmp"

	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// linesName stands for a file in errors about the lines of a batch that has no name.
const linesName = "lines"

func (d *Daemon) batch(r *control.Batch) (any, error) {
	defer wipe(r.Lines)
	for i, line := range r.Lines {
		if bytes.ContainsAny(line, "\r\n") {
			return nil, xfrm.Errorf(xfrm.Pos{File: cmp.Or(r.File, linesName), Line: i + 1}, "a line cannot have a line break in it")
		}
	}
	size := len(r.Lines)
	for _, line := range r.Lines {
		size += len(line)
	}
	text := make([]byte, 0, size) // never grown, which would leave keys behind
	defer func() { clear(text) }()
	for _, line := range r.Lines {
		text = append(append(text, line...), '\n')
	}
	commands, err := xfrm.ParseBatch(cmp.Or(r.File, linesName), text)
	if err != nil {
		return nil, err
	}
	return d.Run(commands, session.Lists{})
}

func (d *Daemon) command(r *control.Command) (any, error) {
	defer wipe(r.Words)
	words := make([]xfrm.Token, len(r.Words))
	for i, word := range r.Words {
		words[i].Text = word
	}
	command, err := xfrm.Parse(words)
	if err != nil {
		return nil, err
	}
	return d.Run([]xfrm.Command{command}, session.Lists{Statistics: r.Statistics, JSON: r.JSON})
}

func wipe(lines []control.Line) {
	for _, line := range lines {
		clear(line)
	}
}
