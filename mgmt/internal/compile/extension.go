// SPDX-License-Identifier: Apache-2.0

package compile

// checkExtensions refuses selectors of headers that are skipped.
func (c *compiler) checkExtensions() error {
	skipped := c.m.SkippedHeaders()
	for p := range c.m.Policies.All() {
		if err := p.CheckExtensions(skipped, p.Pos); err != nil {
			return err
		}
	}
	for sa := range c.m.SAs.All() {
		if sa.Sel != nil {
			if err := sa.Sel.CheckExtensions(skipped, sa.Pos); err != nil {
				return err
			}
		}
	}
	return nil
}
