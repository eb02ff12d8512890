// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"fmt"
	"strings"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Rules lists a ternary table as "row:action/argument/priority".
func (r *Rig) Rules(c transport.Chip, table regs.Table) string {
	var out []string
	f := regs.RuleRow
	for index := range 32 {
		if row := r.Fake.Table(c, table)[index]; row != nil {
			out = append(out, fmt.Sprintf("%d:%s/%d/%d", index, regs.ActionNames[uint32(f.Action.Get(row))], f.Sa.Get(row), f.Priority.Get(row)))
		}
	}
	return strings.Join(out, " ")
}

// WithRules gives a box of so many rules.
func WithRules(rules uint32) fakebox.Sizes {
	sizes := fakebox.Small
	sizes.Rules = rules
	return sizes
}
