# SPDX-License-Identifier: Apache-2.0
"""Two gateways whose IKE daemons are strongSwan's charon, and the measures that they undergo: after
the IKE tests of draft-ietf-bmwg-ipsec-meth-05.

A tester gives the gateways and the traffic ([sallyport.ike.gateways.Boxes]). The simulated one,
`sallyport.backend_sim.ike`, runs charon and sallyportd on this machine and in its time. The other,
`sallyport.trex.ike`, asks those of real boxes over ssh.
"""

from sallyport.ike.charon import check_charon
from sallyport.ike.measures import ANYWHERE, MEASURES
from sallyport.ike.setups import check_setup
from sallyport.ike.spaces import check_rights

__all__ = ["ANYWHERE", "MEASURES", "check_charon", "check_rights", "check_setup"]
