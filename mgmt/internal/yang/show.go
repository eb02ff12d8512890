// SPDX-License-Identifier: Apache-2.0

package yang

import "context"

// Show gives the box's SPD and SAD as a document without keys, and a sentence on each object that
// the module cannot describe. With state each SA has what it has carried.
func Show(ctx context.Context, box Box, state bool) (text []byte, leftOut []string, err error) {
	c, err := contentsOf(ctx, box, state)
	if err != nil {
		return nil, nil, err
	}
	text, err = c.text()
	return text, c.leftOut, err
}
