"""The embedded token issuer: an OpenID Connect provider that knows the client credentials grant and nothing else.

Any other issuer takes its place by configuration (`CANOPY_<SERVICE>__ISSUER__URL`); no service imports this one.
"""
