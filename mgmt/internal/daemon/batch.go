// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"cmp"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// linesName stands for a file in errors about the lines of a batch that has no name.
const linesName = "lines"

func (d *Daemon) batch(who caller.Caller, r *control.Batch) (any, error) {
	commands, err := parsed(r.Lines, cmp.Or(r.File, linesName), xfrm.ParseBatch)
	if err != nil {
		return nil, err
	}
	return d.runFor(who, commands, session.Lists{})
}

// parsed reads lines of a file, and wipes them.
func parsed(lines []control.Line, file string, parse func(string, []byte) ([]xfrm.Command, error)) ([]xfrm.Command, error) {
	defer wipe(lines)
	for i, line := range lines {
		if bytes.ContainsAny(line, "\r\n") {
			return nil, xfrm.Errorf(xfrm.Pos{File: file, Line: i + 1}, "a line cannot have a line break in it")
		}
	}
	size := len(lines)
	for _, line := range lines {
		size += len(line)
	}
	text := make([]byte, 0, size) // never grown, which would leave keys behind
	defer func() { clear(text) }()
	for _, line := range lines {
		text = append(append(text, line...), '\n')
	}
	return parse(file, text)
}

func (d *Daemon) command(who caller.Caller, r *control.Command) (any, error) {
	defer wipe(r.Words)
	words := make([]xfrm.Token, len(r.Words))
	for i, word := range r.Words {
		words[i].Text = word
	}
	command, err := xfrm.Parse(words)
	if err != nil {
		return nil, err
	}
	return d.runFor(who, []xfrm.Command{command}, session.Lists{Statistics: r.Statistics, JSON: r.JSON, Ignored: d.ignored()})
}

func wipe(lines []control.Line) {
	for _, line := range lines {
		clear(line)
	}
}
