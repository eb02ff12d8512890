// SPDX-License-Identifier: Apache-2.0

package compile

// checkExtensions refuses selectors of headers that are skipped.
func (c *compiler) checkExtensions() error {
	skipped := c.m.SkippedHeaders()
	for _, p := range c.m.Touched() {
		if err := p.CheckExtensions(skipped, p.Pos); err != nil {
			return err
		}
	}
	for sa := range c.m.TouchedSAs() {
		if sa.Sel != nil {
			if err := sa.Sel.CheckExtensions(skipped, sa.Pos); err != nil {
				return err
			}
		}
	}
	return nil
}
