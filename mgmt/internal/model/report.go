// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"io"

	"sallyport/mgmt/internal/xfrm"
)

// Report collects what the administrator should know although it is no error.
type Report struct {
	Warnings []string
	seen     map[string]bool
}

func (r *Report) Warn(pos xfrm.Pos, format string, args ...any) {
	text := xfrm.Errorf(pos, format, args...).Error()
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if !r.seen[text] {
		r.seen[text] = true
		r.Warnings = append(r.Warnings, text)
	}
}

// mostWarnings are printed in full.
const mostWarnings = 20

func (r *Report) Print(out io.Writer) {
	for i, text := range r.Warnings {
		if i == mostWarnings {
			fmt.Fprintf(out, "warning: and %d more of these\n", len(r.Warnings)-i)
			return
		}
		fmt.Fprintln(out, "warning: "+text)
	}
}
