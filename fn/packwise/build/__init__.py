"""Sources that controllers build before they deliver them: charts, kustomizations, Applications, HelmReleases."""
