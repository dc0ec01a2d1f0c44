int fake_torch_version(void);
int fake_torch_version(void) {
  return 1;
}
