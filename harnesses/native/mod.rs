//! stub
use super::*;
/// stub
pub struct Native;
impl Harness for Native {
    fn id(&self) -> &'static str {
        todo!()
    }
    fn about(&self) -> &'static str {
        todo!()
    }
    fn begin(&self, _: &Context) -> Start {
        todo!()
    }
    fn user(&self, _: &mut State, _: &Input) -> Vec<Item> {
        todo!()
    }
    fn read(&self, _: &State, _: &Reply) -> Step {
        todo!()
    }
    fn results(&self, _: &mut State, _: &[Done], _: usize) -> Vec<Item> {
        todo!()
    }
    fn notice(&self, _: &mut State, _: &Notice) -> Vec<Item> {
        todo!()
    }
}
