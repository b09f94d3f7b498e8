//! The page's style: dark and light as the reader's system wants it, one column on a phone.

pub(crate) const CSS: &str = "
:root{--bg:#fff;--fg:#1d2329;--dim:#68717a;--line:#dfe3e7;--box:#f6f8f9;--accent:#0b7285;--good:#2b8a3e;--bad:#c92a2a;--add:#e6f6ea;--del:#fdecec}
@media(prefers-color-scheme:dark){:root{--bg:#14181c;--fg:#dde2e6;--dim:#8b959e;--line:#2b3238;--box:#1b2126;--accent:#4cc3d6;--good:#69c47c;--bad:#ff8787;--add:#16301d;--del:#3a1d1f}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:1.2rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
pre,code{font:13px/1.45 ui-monospace,monospace}pre{white-space:pre-wrap;background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.6rem;margin:.4rem 0;overflow:auto}
.dim{color:var(--dim)}.good{color:var(--good)}.bad{color:var(--bad)}
.verdict{font-weight:600;font-size:1.1rem}
.facts{display:flex;flex-wrap:wrap;gap:.4rem 1.6rem;padding:0;margin:.8rem 0;list-style:none}.facts b{display:block;font-size:1.15rem}.facts span{color:var(--dim);font-size:.85rem}
figure{margin:1rem 0}figcaption{font-size:.9rem;margin-bottom:.3rem}svg{width:100%;height:auto;display:block}svg rect{fill:var(--accent)}svg rect.bad{fill:var(--bad)}svg path{stroke:var(--line);stroke-width:1}svg text{fill:var(--dim);font-size:11px;text-anchor:middle}.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:0 1.6rem}
details{border:1px solid var(--line);border-radius:6px;margin:.4rem 0;padding:.1rem .7rem;background:var(--bg)}summary{cursor:pointer;padding:.35rem 0}
details>pre{border:0;background:none;padding:.2rem 0}
.diff{white-space:pre;padding:0;border:0;background:none}.diff span{display:block;padding:0 .4rem;min-height:1.45em;width:max-content;min-width:100%}.diff .add{background:var(--add)}.diff .del{background:var(--del)}.diff .hunk{color:var(--dim)}
blockquote{margin:.3rem 0 .8rem;padding-left:.8rem;border-left:3px solid var(--accent)}
ul.files{padding-left:1.1rem;margin:.3rem 0}
@media(max-width:30rem){body{padding:.8rem;font-size:15px}}
@media print{details{border:0}}
";
