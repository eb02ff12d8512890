package box

import (
	"fmt"
	"io"
	"sallyport/mgmt/internal/xfrm"
)

// report collects what the administrator should know although it is no error.
type report struct {
	warnings []string
	seen     map[string]bool
}

func (r *report) warn(pos xfrm.Pos, format string, args ...any) {
	text := xfrm.Errorf(pos, format, args...).Error()
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if !r.seen[text] {
		r.seen[text] = true
		r.warnings = append(r.warnings, text)
	}
}

// mostWarnings are printed in full.
const mostWarnings = 20

func (r *report) print(out io.Writer) {
	for i, text := range r.warnings {
		if i == mostWarnings {
			fmt.Fprintf(out, "warning: and %d more of these\n", len(r.warnings)-i)
			return
		}
		fmt.Fprintln(out, "warning: "+text)
	}
}
