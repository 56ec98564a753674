"""Sources that controllers build before delivery: charts, kustomizations, Applications, HelmReleases."""
