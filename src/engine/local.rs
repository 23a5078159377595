use super::*;
pub struct Local;
impl Local { pub fn from_config(_: &crate::config::ServerConfig) -> anyhow::Result<Self> { Ok(Self) } }
pub struct LocalEngine;
impl LocalEngine { pub fn new(_: Local) -> Self { Self } pub fn bring_up(&self,_:&str)->bool{false} pub fn take_down(&self,_:&str)->bool{false} }
impl Engine for LocalEngine {
    fn nodes(&self) -> Answer<'_, Vec<Node>> { Box::pin(async { Ok(vec![]) }) }
    fn free_ports<'a>(&'a self, _: &'a NodeName, _: usize, _: &'a [u16]) -> Answer<'a, Vec<u16>> { Box::pin(async { Ok(vec![]) }) }
    fn start<'a>(&'a self, _: Start<'a>) -> Answer<'a, ()> { Box::pin(async { Ok(()) }) }
    fn stop<'a>(&'a self, _: &'a RunKey) -> Answer<'a, ()> { Box::pin(async { Ok(()) }) }
    fn list(&self) -> Answer<'_, Vec<Seen>> { Box::pin(async { Ok(vec![]) }) }
    fn remove<'a>(&'a self, _: &'a RunKey) -> Answer<'a, ()> { Box::pin(async { Ok(()) }) }
    fn erase<'a>(&'a self, _: &'a RunKey) -> Answer<'a, ()> { Box::pin(async { Ok(()) }) }
}
