interface ImportMeta {
  readonly env: { readonly VITE_CACHELOG?: string };
}
