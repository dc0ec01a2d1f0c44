int fake_torch_version(void);
int main(void) {
  return fake_torch_version() == 1 ? 0 : 1;
}
