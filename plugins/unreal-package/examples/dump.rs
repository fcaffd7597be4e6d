//! x
use unreal_package::*;
fn main(){ let f=std::env::args().nth(1).unwrap(); let b=std::fs::read(&f).unwrap(); let p=Package::read(&b).unwrap(); let n="/Game/X";
 println!("{}",p.markdown(n,1<<20)); for i in 0..p.header.exports.len(){ let ix=Index(i as i32+1); if p.header.outer(ix).0==0 && !p.header.object_name(ix).starts_with("Default__"){ let t=p.t3d(ix,n,1<<20); println!("{}\n{:?} {:?}",t.text,t.told,t.warnings); } } }
